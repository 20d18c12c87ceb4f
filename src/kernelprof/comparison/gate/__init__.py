"""The gate: whether a change may pass, by a policy, over a comparison."""
