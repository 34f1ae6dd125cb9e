import { DEFAULT_PACKING, MOST_PACKED_FILE_BYTES, type Packing } from "#protocol/checkpoint/packing.ts";
import { NO_TUNING, type Tuning } from "#protocol/wire/tuning.ts";
import { profileAbout, type ImportedKey, type ProfileAbout } from "#protocol/wire/profiles.ts";
import type { Provider } from "#protocol/base/provider.ts";
import {
  credentialDraft,
  keyBy,
  profileDraft,
  type KeyBy,
  type KeySource,
  type ProfileDraft,
} from "#protocol/wire/requests.ts";
import type { PresetView, ProfileView, ImportedDraft } from "#protocol/wire/profile-views.ts";
import { fillEndpoint, openPlaces } from "./endpoint-template.ts";

/** Typed values of a bucket profile. This module converts them into the hub's input, or into errors by field. */
export interface ProfileForm {
  name: string;
  provider: Provider;
  region: string;
  account: string;
  bucket: string;
  prefix: string;
  endpoint: string;
  /** True once the endpoint was typed by hand. Region and account then no longer change it. */
  endpointTyped: boolean;
  addressing: ProfileDraft["addressing"];
  workerEndpoint: string;
  browserEndpoint: string;
  /** Custom certificate authorities as PEM; empty for none. */
  trustCa: string;
  trustPin: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Whether the key signs directly, or how it requests temporary keys. */
  keyWay: "itself" | KeyBy["call"];
  /** Address that issues temporary keys; empty for the provider's own. */
  keyService: string;
  roleArn: string;
  externalId: string;
  /** While editing: keeps the stored key and hides the two key fields. */
  keepKey: boolean;
  /** A pasted key held by the hub; it hides the two key fields as well. */
  imported: (ImportedKey & { hint: string }) | null;
  notes: string;
  egressPerGb: string;
  storagePerGbMonth: string;
  per1000Requests: string;
  /** Files below this size in KiB are packed; 0 packs nothing. */
  packBelow: string;
  packZstd: boolean;
  /** Part size in MiB; empty for the choice by file size. */
  tunePart: string;
  /** Number of connections; empty for the provider's default. */
  tuneConnections: string;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const packForm = ({ belowBytes, zstd }: Packing) => ({ packBelow: String(belowBytes / KIB), packZstd: zstd });

const tuneForm = ({ partBytes, connections }: Tuning) => ({
  tunePart: partBytes === null ? "" : String(partBytes / MIB),
  tuneConnections: connections === null ? "" : String(connections),
});

const keyWayForm = (keyBy: KeyBy | null): Pick<ProfileForm, "keyWay" | "keyService" | "roleArn" | "externalId"> => ({
  keyWay: keyBy?.call ?? "itself",
  keyService: keyBy === null ? "" : keyBy.call === "sts" ? keyBy.endpoint : keyBy.url,
  roleArn: keyBy?.call === "sts" ? (keyBy.roleArn ?? "") : "",
  externalId: keyBy?.call === "sts" ? (keyBy.externalId ?? "") : "",
});

const NOTHING_ABOUT = { notes: "", egressPerGb: "", storagePerGbMonth: "", per1000Requests: "" };

export function emptyForm(preset: PresetView): ProfileForm {
  return {
    name: "",
    provider: preset.provider,
    region: preset.defaultRegion,
    account: "",
    bucket: "",
    prefix: "",
    endpoint: fillEndpoint(preset.endpointTemplate, { region: preset.defaultRegion, account: "" }),
    endpointTyped: false,
    addressing: preset.addressing,
    workerEndpoint: "",
    browserEndpoint: "",
    trustCa: "",
    trustPin: "",
    accessKeyId: "",
    secretAccessKey: "",
    ...keyWayForm(null),
    keepKey: false,
    imported: null,
    ...NOTHING_ABOUT,
    ...packForm(DEFAULT_PACKING),
    ...tuneForm(NO_TUNING),
  };
}

export function formOf(view: ProfileView): ProfileForm {
  const { profile, about } = view;
  const textOf = (price: number | null | undefined): string => String(price ?? "");
  return {
    ...profile,
    account: "",
    endpointTyped: true,
    workerEndpoint: profile.workerEndpoint ?? "",
    browserEndpoint: profile.browserEndpoint ?? "",
    trustCa: profile.trustCa ?? "",
    trustPin: profile.trustPin ?? "",
    accessKeyId: "",
    secretAccessKey: "",
    ...keyWayForm(view.keyBy),
    keepKey: true,
    imported: null,
    notes: about.notes,
    egressPerGb: textOf(about.prices?.egressPerGb),
    storagePerGbMonth: textOf(about.prices?.storagePerGbMonth),
    per1000Requests: textOf(about.prices?.per1000Requests),
    ...packForm(about.packing),
    ...tuneForm(about.tuning),
  };
}

/** Applies another provider with its endpoint, region and addressing; names and keys stay. */
export const withPreset = (form: ProfileForm, preset: PresetView): ProfileForm => ({
  ...form,
  provider: preset.provider,
  region: preset.defaultRegion,
  addressing: preset.addressing,
  endpointTyped: false,
  endpoint: fillEndpoint(preset.endpointTemplate, { region: preset.defaultRegion, account: form.account }),
});

/** Changes region or account. The endpoint follows unless it was typed by hand. */
export function withPlace(
  form: ProfileForm,
  place: { region?: string; account?: string },
  preset: PresetView | undefined,
): ProfileForm {
  const next = { ...form, ...place };
  if (form.endpointTyped || preset === undefined) return next;
  return { ...next, endpoint: fillEndpoint(preset.endpointTemplate, next) };
}

/** Applies an imported draft. Values that the draft lacks keep what was typed. */
export function withImport(form: ProfileForm, draft: ImportedDraft, key: ImportedKey | null): ProfileForm {
  const { profile, accessKeyHint } = draft;
  return {
    ...form,
    name: form.name === "" ? (profile.name ?? "") : form.name,
    provider: profile.provider,
    region: profile.region ?? form.region,
    endpoint: profile.endpoint ?? form.endpoint,
    endpointTyped: profile.endpoint !== null,
    addressing: profile.addressing,
    bucket: profile.bucket ?? form.bucket,
    prefix: profile.prefix === "" ? form.prefix : profile.prefix,
    imported: key === null || accessKeyHint === null ? null : { ...key, hint: accessKeyHint },
  };
}

/** Returns null for empty text and NaN for invalid numbers, which the schema then rejects. */
const priceOf = (text: string): number | null => {
  const trimmed = text.trim().replace(",", ".");
  return trimmed === "" ? null : /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
};

function aboutOf(form: ProfileForm): unknown {
  const prices = {
    egressPerGb: priceOf(form.egressPerGb),
    storagePerGbMonth: priceOf(form.storagePerGbMonth),
    per1000Requests: priceOf(form.per1000Requests),
  };
  const isListed = Object.values(prices).every((price) => price === null);
  const packing = { belowBytes: bytesOf(form.packBelow), zstd: form.packZstd };
  const tuning = { partBytes: wholeOf(form.tunePart, MIB), connections: wholeOf(form.tuneConnections, 1) };
  return { notes: form.notes, prices: isListed ? null : prices, packing, tuning };
}

/** Returns null for empty text and NaN for invalid whole numbers, which the schema then rejects. */
const wholeOf = (text: string, unit: number): number | null => {
  const trimmed = text.trim();
  return trimmed === "" ? null : /^\d{1,6}$/.test(trimmed) ? Number(trimmed) * unit : Number.NaN;
};

/** Returns NaN for invalid numbers of KiB, which the schema then rejects. */
const bytesOf = (kib: string): number => (/^\d{1,6}$/.test(kib.trim()) ? Number(kib.trim()) * KIB : Number.NaN);

export type FieldErrors = Partial<Record<keyof ProfileForm, string>>;
export type ReadForm =
  | { ok: true; profile: ProfileDraft; credential: KeySource | null; keyBy: KeyBy | null; about: ProfileAbout }
  | { ok: false; errors: FieldErrors };

const optional = (text: string): string | null => (text.trim() === "" ? null : text.trim());

const prefixOf = (text: string): string =>
  text.trim() === "" || text.trim().endsWith("/") ? text.trim() : `${text.trim()}/`;

/** Returns the key as input for the hub; null keeps the stored one. */
function keyOf({ keepKey, imported, accessKeyId, secretAccessKey }: ProfileForm) {
  if (keepKey) return { success: true, data: null, error: undefined } as const;
  if (imported !== null) {
    return { success: true, data: { handle: imported.handle, index: imported.index }, error: undefined } as const;
  }
  return credentialDraft.safeParse({ accessKeyId, secretAccessKey });
}

/** Returns the use of the key as input for the hub. */
function keyByOf({ keyWay, keyService, roleArn, externalId }: ProfileForm) {
  if (keyWay === "itself") return { success: true, data: null, error: undefined } as const;
  return keyBy.safeParse(
    keyWay === "r2"
      ? { call: keyWay, url: keyService.trim() }
      : { call: keyWay, endpoint: keyService.trim(), roleArn: optional(roleArn), externalId: optional(externalId) },
  );
}

/** Returns the provider's default service for temporary keys; empty when it has none. */
export function serviceFor(form: ProfileForm, preset: PresetView | undefined): string {
  const template = preset?.temporaryKeys ?? null;
  if (template === null) return "";
  return template === "same" ? form.endpoint : fillEndpoint(template, form);
}

/** Validates the form with the hub's own schemas before calling the hub. */
export function readForm(form: ProfileForm): ReadForm {
  const open = openPlaces(form.endpoint);
  const profile = profileDraft.safeParse({
    name: form.name,
    provider: form.provider,
    bucket: form.bucket.trim(),
    region: form.region.trim(),
    prefix: prefixOf(form.prefix),
    endpoint: form.endpoint.trim(),
    workerEndpoint: optional(form.workerEndpoint),
    browserEndpoint: optional(form.browserEndpoint),
    trustCa: optional(form.trustCa),
    trustPin: optional(form.trustPin),
    addressing: form.addressing,
  });
  const key = keyOf(form);
  const about = profileAbout.safeParse(aboutOf(form));
  const way = keyByOf(form);
  if (profile.success && key.success && way.success && about.success && open.length === 0)
    return { ok: true, profile: profile.data, credential: key.data, keyBy: way.data, about: about.data };
  const errors: FieldErrors = {};
  for (const issue of [...(profile.error?.issues ?? []), ...(key.error?.issues ?? [])]) {
    const field = issue.path.at(-1);
    if (typeof field === "string" && field in form) errors[field as keyof ProfileForm] ??= issue.message;
  }
  for (const { path, message } of way.error?.issues ?? []) {
    const field = path.at(-1);
    errors[field === "roleArn" || field === "externalId" ? field : "keyService"] ??= message;
  }
  for (const { path, code, message } of about.error?.issues ?? []) {
    const field = path.at(-1);
    if (field === "belowBytes") {
      errors.packBelow = `a whole number of KiB from 0 to ${MOST_PACKED_FILE_BYTES / KIB}`;
      continue;
    }
    if (field === "partBytes") {
      errors.tunePart = "a whole number of MiB from 5 to 1,024";
      continue;
    }
    if (field === "connections") {
      errors.tuneConnections = "a whole number from 1 to 96";
      continue;
    }
    if (typeof field !== "string" || !(field in form)) continue;
    errors[field as keyof ProfileForm] ??= code === "invalid_type" ? "a price is a number, for example 0.09" : message;
  }
  if (open.includes("account")) {
    errors.account = "needed for this provider's endpoint";
    delete errors.endpoint;
  }
  if (open.includes("region")) {
    errors.region ??= "needed for this provider's endpoint";
    delete errors.endpoint;
  }
  return { ok: false, errors };
}
