"""For whoever changes signatures: prove them, draft one from a log, calibrate the ranking."""
