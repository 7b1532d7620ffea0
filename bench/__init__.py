"""Measurements. Figures of one machine and one moment; only ratios of one run are claimed."""
