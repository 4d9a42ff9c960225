// Holds the precompiled header of the rooms that include compiler headers.
