"""What is known about causes: the signature model, loading, private packs, lint and the built index."""
