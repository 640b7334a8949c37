"""The signature database. A package only so that an editable install finds it."""
