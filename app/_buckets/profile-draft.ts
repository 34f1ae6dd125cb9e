import { createProfileInput, type CredentialDraft, type ProfileDraft, type Provider } from "#protocol/requests.ts";
import type { PresetView, ProfileView } from "#protocol/views.ts";
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
  accessKeyId: string;
  secretAccessKey: string;
  /** On edit: the stored key stays, the two fields are not asked. */
  keepKey: boolean;
}

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
    accessKeyId: "",
    secretAccessKey: "",
    keepKey: false,
  };
}

export function formOf(view: ProfileView): ProfileForm {
  const { profile } = view;
  return {
    ...profile,
    account: "",
    endpointTyped: true,
    workerEndpoint: profile.workerEndpoint ?? "",
    browserEndpoint: profile.browserEndpoint ?? "",
    accessKeyId: "",
    secretAccessKey: "",
    keepKey: true,
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

export type FieldErrors = Partial<Record<keyof ProfileForm, string>>;
export type ReadForm =
  | { ok: true; profile: ProfileDraft; credential: CredentialDraft | null }
  | { ok: false; errors: FieldErrors };

/** What the hub would say about each field, by the same rules, before it is asked. */
export function readForm(form: ProfileForm): ReadForm {
  const open = openPlaces(form.endpoint);
  const optional = (text: string): string | null => (text.trim() === "" ? null : text.trim());
  const parsed = createProfileInput.safeParse({
    profile: {
      name: form.name,
      provider: form.provider,
      bucket: form.bucket.trim(),
      region: form.region.trim(),
      prefix:
        form.prefix.trim() === "" || form.prefix.trim().endsWith("/") ? form.prefix.trim() : `${form.prefix.trim()}/`,
      endpoint: form.endpoint.trim(),
      workerEndpoint: optional(form.workerEndpoint),
      browserEndpoint: optional(form.browserEndpoint),
      addressing: form.addressing,
    },
    credential: form.keepKey
      ? { accessKeyId: "kept", secretAccessKey: "kept" }
      : { accessKeyId: form.accessKeyId, secretAccessKey: form.secretAccessKey },
  });
  if (parsed.success && open.length === 0)
    return { ok: true, profile: parsed.data.profile, credential: form.keepKey ? null : parsed.data.credential };
  const errors: FieldErrors = {};
  for (const issue of parsed.error?.issues ?? []) {
    const field = issue.path.at(-1);
    if (typeof field === "string" && field in form) errors[field as keyof ProfileForm] ??= issue.message;
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
