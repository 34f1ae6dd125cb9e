import type { Provider } from "#protocol/base/provider.ts";

/** A store as a text describes it. The draft is made in another file, because commands read such texts at each start and need no schema. */
export interface ReadStore {
  /** Where it was read. */
  from: string;
  /** The provider as the text names it; null when it names none. */
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
