/** Smallest number of characters in a password. In a file of its own, so that pages need no parser to show it. */
export const SHORTEST_PASSWORD = 12;
