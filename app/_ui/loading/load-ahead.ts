/** A module that is loaded separately from the page. */
export interface Loading<Loaded> {
  /** Returns the loaded module; null before it has arrived. */
  now: () => Loaded | null;
  /** Loads the module, or waits for a load in progress. */
  get: () => Promise<Loaded>;
}

/** Loads when `get` is called. */
export function loadLater<Loaded>(load: () => Promise<Loaded>): Loading<Loaded> {
  let come: Loaded | null = null;
  return { now: () => come, get: async () => (come = await load()) };
}

/** Starts loading at once in a browser. A load that failed is repeated at the next `get`. */
export function loadAhead<Loaded>(load: () => Promise<Loaded>): Loading<Loaded> {
  const later = loadLater(load);
  if (typeof window === "undefined") return later;
  const early = later.get();
  early.catch(() => undefined);
  return { now: later.now, get: () => early.catch(later.get) };
}
