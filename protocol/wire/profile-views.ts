import type { FaultData } from "../faults/fault.ts";
import type { Packing } from "../checkpoint/packing.ts";
import type { Tuning } from "./tuning.ts";
import type { FoundTraits, LintFinding, ProfileAbout, ProviderPrices } from "./profiles.ts";
import type { Sealing } from "../checkpoint/sealing.ts";
import type { Provider } from "../base/provider.ts";
import type { KeyBy, ProfileDraft } from "./requests.ts";

/** Buckets as pages show them: presets, profiles, and results of profile tests. */

export interface PresetView {
  provider: Provider;
  label: string;
  /** Contains the placeholders {region} and {account}. */
  endpointTemplate: string;
  regionHint: string;
  defaultRegion: string;
  addressing: "path" | "virtual-host";
  /** `none`: never charged. `fair-use`: free up to a multiple of the stored bytes. `metered`: per GB. `own`: your own store. */
  egress: "none" | "fair-use" | "metered" | "own";
  /** Published prices; null when there is no price list. */
  prices: ProviderPrices | null;
  note: string;
  /** Address for temporary keys, with {region} and {account} as placeholders. `same`: the store's own; null: none is known. */
  temporaryKeys: string | null;
}

/** One line of a profile test: an operation that the product needs, and the store's answer. */
export interface ProfileCheck {
  /** The S3 operation, for example `UploadPart`. */
  operation: string;
  outcome: "ok" | "refused" | "unsupported" | "failed" | "skipped";
  /** Feature of Tidemark that needs the operation. */
  neededFor: string;
  /** The S3 action missing from the key's policy, when refused. */
  missingAction: string | null;
  fault: FaultData | null;
  /** The store's own error code and the HTTP status, if any. */
  rawCode: string | null;
  httpStatus: number | null;
  /** The earlier operation that failed, so that this one could not be tested. */
  skippedBecause: string | null;
  /** Additional sentence about the result, such as why it could not be measured; null without one. */
  note: string | null;
  tookMs: number | null;
}

/** An object or upload that a test wrote and could not remove. */
export interface LeftBehind {
  kind: "object" | "upload";
  key: string;
  uploadId: string | null;
  fault: FaultData;
}

export interface ProfileTestView {
  at: number;
  ok: boolean;
  checks: ProfileCheck[];
  /** The store's clock minus the hub's. */
  clockSkewMs: number | null;
  leftBehind: LeftBehind[];
  found: FoundTraits;
}

export interface ProfileView {
  id: string;
  version: number;
  profile: ProfileDraft;
  /** Last four characters of the access key id. The secret is never shown. */
  accessKeyHint: string;
  /** How the key obtains temporary keys; null: the key itself signs. */
  keyBy: KeyBy | null;
  createdAt: number;
  updatedAt: number;
  about: ProfileAbout & { packing: Packing; tuning: Tuning };
  lastTest: ProfileTestView | null;
  /** Whether new checkpoints are encrypted. */
  sealing: Sealing;
  nodes: number;
  runs: number;
  checkpoints: number;
  /** Bytes of complete checkpoints. */
  storedBytes: number;
}

/** Settings of one store that were found in a pasted text. Null: the text does not contain the value. */
export interface ImportedDraft {
  /** The section or the variables that it comes from. */
  from: string;
  profile: { [K in keyof Omit<ProfileDraft, "provider" | "prefix" | "addressing">]: ProfileDraft[K] | null } & Pick<
    ProfileDraft,
    "provider" | "prefix" | "addressing"
  >;
  /** Last characters of the access key id; null when no complete key was found. */
  accessKeyHint: string | null;
  /** Why it cannot be used as it is. */
  problems: string[];
}

export interface ImportView {
  /** Refers to the keys in `create` and `test` until `expiresAt`; null when the text has no key. */
  handle: string | null;
  expiresAt: number | null;
  kind:
    | "rclone.conf"
    | "AWS files"
    | "s3cmd's file"
    | "DVC's file"
    | "boto's file"
    | "key file"
    | "environment"
    | "rclone command"
    | "mixed"
    | "nothing";
  drafts: ImportedDraft[];
  findings: LintFinding[];
  /** Parts of the text that were not used, with the reason. */
  ignored: string[];
}
