"""Measuring under ``ncu``: preflight, runs, drill-down, and the writing of captures."""
