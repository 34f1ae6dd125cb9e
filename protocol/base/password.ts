/** So many characters a password has at least. On its own, so that pages need no parser to say it. */
export const SHORTEST_PASSWORD = 12;
