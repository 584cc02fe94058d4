"""MATCH_RECOGNIZE: lines of tables on the automaton of patterns."""
