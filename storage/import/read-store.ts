import type { Provider } from "#protocol/provider.ts";

/** What a text says of one store. Apart from the draft that is made of it: commands read such texts at each start, and need no schema. */
export interface ReadStore {
  /** Where it was read. */
  from: string;
  /** What the text calls the provider; null when it does not say. */
  provider: Provider | null;
  endpoint: string | null;
  region: string | null;
  bucket: string | null;
  prefix: string;
  accessKeyId: string | null;
  secretAccessKey: string | null;
  sessionToken: string | null;
  /** R2: the endpoint is made of it. */
  account: string | null;
  addressing: "path" | "virtual-host" | null;
  problems: string[];
}

/** Nothing read yet. */
export const emptyStore = (from: string): ReadStore => ({
  from,
  provider: null,
  endpoint: null,
  region: null,
  bucket: null,
  prefix: "",
  accessKeyId: null,
  secretAccessKey: null,
  sessionToken: null,
  account: null,
  addressing: null,
  problems: [],
});
