"""Fitting the ranking to labelled reports: `make calibrate CASES="DIR …"` writes signatures/calibration.yaml.

It is run by whoever changes signatures, never by a person with a crash.
"""
