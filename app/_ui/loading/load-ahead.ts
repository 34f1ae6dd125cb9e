/** Something that is loaded apart from the page. */
export interface Loading<Loaded> {
  /** What has come; null before. */
  now: () => Loaded | null;
  /** Loads it, or waits for it where it is on its way. */
  get: () => Promise<Loaded>;
}

/** Loaded when it is asked for. */
export function loadLater<Loaded>(load: () => Promise<Loaded>): Loading<Loaded> {
  let come: Loaded | null = null;
  return { now: () => come, get: async () => (come = await load()) };
}

/** On its way at once, in a browser. What could not be loaded then is tried again when it is asked for. */
export function loadAhead<Loaded>(load: () => Promise<Loaded>): Loading<Loaded> {
  const later = loadLater(load);
  if (typeof window === "undefined") return later;
  const early = later.get();
  early.catch(() => undefined);
  return { now: later.now, get: () => early.catch(later.get) };
}
