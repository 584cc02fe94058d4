"""Made-up records as a source: datagen.py (a function of a number), number_seq.py."""
