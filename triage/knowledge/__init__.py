"""What is known about causes: signatures, claims, packs, lint, and the database that a diagnosis looks into."""
