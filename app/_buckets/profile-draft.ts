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

/** The form of a bucket profile as it is typed; turned into what the hub takes, or into what is wrong with each field. */
export interface ProfileForm {
  name: string;
  provider: Provider;
  region: string;
  account: string;
  bucket: string;
  prefix: string;
  endpoint: string;
  /** True once the endpoint was typed by hand: then region and account no longer change it. */
  endpointTyped: boolean;
  addressing: ProfileDraft["addressing"];
  workerEndpoint: string;
  browserEndpoint: string;
  /** Authorities of the store's own, PEM; empty: none. */
  trustCa: string;
  trustPin: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Whether the key signs itself, or asks for temporary ones. */
  keyWay: "itself" | KeyBy["call"];
  /** Where temporary keys are given out; empty: as the provider has it. */
  keyService: string;
  roleArn: string;
  externalId: string;
  /** On edit: the stored key stays, the two fields are not asked. */
  keepKey: boolean;
  /** A key that was pasted and lies in the hub: the two fields are not asked either. */
  imported: (ImportedKey & { hint: string }) | null;
  notes: string;
  egressPerGb: string;
  storagePerGbMonth: string;
  per1000Requests: string;
  /** KiB; 0: nothing is packed. */
  packBelow: string;
  packZstd: boolean;
  /** MiB; empty: by the size of the file. */
  tunePart: string;
  /** Empty: as for others of this provider. */
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

/** Another provider: its own endpoint, region and addressing; names and keys stay. */
export const withPreset = (form: ProfileForm, preset: PresetView): ProfileForm => ({
  ...form,
  provider: preset.provider,
  region: preset.defaultRegion,
  addressing: preset.addressing,
  endpointTyped: false,
  endpoint: fillEndpoint(preset.endpointTemplate, { region: preset.defaultRegion, account: form.account }),
});

/** Region or account changed: the endpoint follows unless it was typed by hand. */
export function withPlace(
  form: ProfileForm,
  place: { region?: string; account?: string },
  preset: PresetView | undefined,
): ProfileForm {
  const next = { ...form, ...place };
  if (form.endpointTyped || preset === undefined) return next;
  return { ...next, endpoint: fillEndpoint(preset.endpointTemplate, next) };
}

/** What was read from a pasted text, over what was typed: what the text does not say stays. */
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

/** Null where nothing stands; NaN for what is no number, which the rules then refuse. */
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

/** Null where nothing stands; NaN for what is no whole number, which the rules then refuse. */
const wholeOf = (text: string, unit: number): number | null => {
  const trimmed = text.trim();
  return trimmed === "" ? null : /^\d{1,6}$/.test(trimmed) ? Number(trimmed) * unit : Number.NaN;
};

/** NaN for what is no number of KiB, which the rules then refuse. */
const bytesOf = (kib: string): number => (/^\d{1,6}$/.test(kib.trim()) ? Number(kib.trim()) * KIB : Number.NaN);

export type FieldErrors = Partial<Record<keyof ProfileForm, string>>;
export type ReadForm =
  | { ok: true; profile: ProfileDraft; credential: KeySource | null; keyBy: KeyBy | null; about: ProfileAbout }
  | { ok: false; errors: FieldErrors };

const optional = (text: string): string | null => (text.trim() === "" ? null : text.trim());

const prefixOf = (text: string): string =>
  text.trim() === "" || text.trim().endsWith("/") ? text.trim() : `${text.trim()}/`;

/** The key as the hub takes it; null keeps the stored one. */
function keyOf({ keepKey, imported, accessKeyId, secretAccessKey }: ProfileForm) {
  if (keepKey) return { success: true, data: null, error: undefined } as const;
  if (imported !== null) {
    return { success: true, data: { handle: imported.handle, index: imported.index }, error: undefined } as const;
  }
  return credentialDraft.safeParse({ accessKeyId, secretAccessKey });
}

/** How the key is used, as the hub takes it. */
function keyByOf({ keyWay, keyService, roleArn, externalId }: ProfileForm) {
  if (keyWay === "itself") return { success: true, data: null, error: undefined } as const;
  return keyBy.safeParse(
    keyWay === "r2"
      ? { call: keyWay, url: keyService.trim() }
      : { call: keyWay, endpoint: keyService.trim(), roleArn: optional(roleArn), externalId: optional(externalId) },
  );
}

/** The service that the provider is known to have, for a form in which none was typed. */
export function serviceFor(form: ProfileForm, preset: PresetView | undefined): string {
  const template = preset?.temporaryKeys ?? null;
  if (template === null) return "";
  return template === "same" ? form.endpoint : fillEndpoint(template, form);
}

/** What the hub would say about each field, by the same rules, before it is asked. */
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
