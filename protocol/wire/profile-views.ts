import type { FaultData } from "../faults/fault.ts";
import type { Packing } from "../checkpoint/packing.ts";
import type { Tuning } from "./tuning.ts";
import type { FoundTraits, LintFinding, ProfileAbout, ProviderPrices } from "./profiles.ts";
import type { Sealing } from "../checkpoint/sealing.ts";
import type { Provider } from "../base/provider.ts";
import type { KeyBy, ProfileDraft } from "./requests.ts";

/** What people see of buckets: presets, profiles, and what a test of one found. */

export interface PresetView {
  provider: Provider;
  label: string;
  /** With {region} and {account} to fill in. */
  endpointTemplate: string;
  regionHint: string;
  defaultRegion: string;
  addressing: "path" | "virtual-host";
  /** none: never charged. fair-use: free up to a multiple of what is stored. metered: per GB. own: nobody's bill but yours. */
  egress: "none" | "fair-use" | "metered" | "own";
  /** What the provider publishes; null where there is no price list. */
  prices: ProviderPrices | null;
  note: string;
  /** Where it gives out keys that end by themselves, with {region} and {account} to fill in; `same`: at the store's own endpoint; null: nowhere known. */
  temporaryKeys: string | null;
}

/** One line of a profile test: an operation the product needs, and what the store said. */
export interface ProfileCheck {
  /** The S3 operation, for example `UploadPart`. */
  operation: string;
  outcome: "ok" | "refused" | "unsupported" | "failed" | "skipped";
  /** What of Tidemark needs it. */
  neededFor: string;
  /** The S3 action missing from the key's policy, when refused. */
  missingAction: string | null;
  fault: FaultData | null;
  /** The store's own error code and the HTTP status, where there are any. */
  rawCode: string | null;
  httpStatus: number | null;
  /** The operation that had to work first and did not. */
  skippedBecause: string | null;
  /** One more fact. */
  note: string | null;
  tookMs: number | null;
}

/** What a test wrote and could not remove. */
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
  /** How the key is used to ask for temporary ones; null: it signs itself. */
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

/** What was found of one store. Null: the text does not say. */
export interface ImportedDraft {
  /** The section or the variables it comes from. */
  from: string;
  profile: { [K in keyof Omit<ProfileDraft, "provider" | "prefix" | "addressing">]: ProfileDraft[K] | null } & Pick<
    ProfileDraft,
    "provider" | "prefix" | "addressing"
  >;
  /** Last characters of the access key id; null when no whole key was found. */
  accessKeyHint: string | null;
  /** Why it cannot be used as it is. */
  problems: string[];
}

export interface ImportView {
  /** Names the keys for `create` and `test` until `expiresAt`; null when there is none. */
  handle: string | null;
  expiresAt: number | null;
  kind:
    | "rclone.conf"
    | "AWS files"
    | "s3cmd's file"
    | "key file"
    | "environment"
    | "rclone command"
    | "mixed"
    | "nothing";
  drafts: ImportedDraft[];
  findings: LintFinding[];
  /** What was read and left aside, and why. */
  ignored: string[];
}
