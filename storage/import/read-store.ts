import type { Provider } from "#protocol/base/provider.ts";

/** A store as a text describes it. Separate from the draft: commands read such texts at every start and need no schema. */
export interface ReadStore {
  /** Name of the source, such as the section or variable family. */
  from: string;
  /** The provider as the text names it; null when it names none. */
  provider: Provider | null;
  endpoint: string | null;
  region: string | null;
  bucket: string | null;
  prefix: string;
  accessKeyId: string | null;
  secretAccessKey: string | null;
  /** Whether every character of the secret is part of it, as in rclone.conf. A shell would replace `$NAME`. */
  isSecretLiteral: boolean;
  sessionToken: string | null;
  /** R2 account id, which is part of the endpoint. */
  account: string | null;
  addressing: "path" | "virtual-host" | null;
  problems: string[];
}

/** Returns a store without any setting. */
export const emptyStore = (from: string): ReadStore => ({
  from,
  provider: null,
  endpoint: null,
  region: null,
  bucket: null,
  prefix: "",
  accessKeyId: null,
  secretAccessKey: null,
  isSecretLiteral: false,
  sessionToken: null,
  account: null,
  addressing: null,
  problems: [],
});
