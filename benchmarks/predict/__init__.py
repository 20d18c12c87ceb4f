"""How near predictions without a GPU come to what was measured."""
