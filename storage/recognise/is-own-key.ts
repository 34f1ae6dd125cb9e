const PLACES = ["runs/", "manifests/", "epochs/", "_tidemark/"] as const;

/** Whether a key is one that Tidemark wrote under this prefix. Somebody else's folder may be called `runs/` too. */
export const isOwnKey = (prefix: string, key: string): boolean =>
  PLACES.some((place) => key.startsWith(prefix + place)) && /\/e\d{6}(\/|\.json$)|\/_tidemark\/|^_tidemark\//.test(key);
