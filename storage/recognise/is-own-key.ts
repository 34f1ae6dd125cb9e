const PLACES = ["runs/", "manifests/", "epochs/", "keeping/", "_tidemark/"] as const;
const SHAPE = /\/e\d{6}(\/|\.json$)|\/_tidemark\/|^_tidemark\/|keeping\/[^/]+\/[^/]+\/[^/]+-[a-z]+\.json$/;

/** Whether a key is one that Tidemark wrote under this prefix. Somebody else's folder may be called `runs/` too. */
export const isOwnKey = (prefix: string, key: string): boolean =>
  PLACES.some((place) => key.startsWith(prefix + place)) && SHAPE.test(key);
