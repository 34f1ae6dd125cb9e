import type { ImportedDraft } from "#protocol/wire/profile-views.ts";
import type { Provider } from "#protocol/base/provider.ts";
import { credentialDraft, profileDraft, type CredentialDraft } from "#protocol/wire/requests.ts";
import { providerOfHost, regionOfHost, styleAt } from "../providers/provider-hosts.ts";
import { PRESETS } from "../providers/providers.ts";
import type { ReadStore } from "./read-store.ts";

/** Turns a store that was read into a draft of a bucket profile. Values that the profile form would refuse become sentences. */

export interface MadeDraft {
  draft: ImportedDraft;
  /** Null when the text has no complete key. */
  credential: CredentialDraft | null;
}

interface Place {
  endpoint: string | null;
  bucket: string | null;
}

/**
 * Parses an endpoint as people write it: without a scheme, with a trailing slash, or with the bucket as its path (as R2
 * shows it). A path of several segments belongs to the endpoint (`/storage/v1/s3` of Supabase). Null when it is invalid.
 */
function placeOf(written: string | null, bucket: string | null): Place {
  if (written === null || written === "") return { endpoint: null, bucket };
  const url = URL.parse(/^https?:\/\//i.test(written) ? written : `https://${written}`);
  if (url === null || url.username !== "" || url.password !== "") return { endpoint: null, bucket };
  const [folder, ...deeper] = url.pathname.split("/").filter((piece) => piece !== "");
  const isPath = folder !== undefined && deeper.length > 0;
  const parsed = profileDraft.shape.endpoint.safeParse(isPath ? [url.origin, folder, ...deeper].join("/") : url.origin);
  return { endpoint: parsed.success ? parsed.data : null, bucket: bucket ?? (isPath ? null : (folder ?? null)) };
}

/** Returns the provider's endpoint for a region; null where it needs an account, or a host of the user's own. */
function endpointOf(provider: Provider, region: string, account: string | null): string | null {
  const { endpointTemplate } = PRESETS[provider];
  const filled = endpointTemplate
    .replace("{region}", region)
    .replace("{account}", account !== null && /^[a-z0-9-]{1,64}$/i.test(account) ? account.toLowerCase() : "{account}");
  const isWhole = !filled.includes("{") && !new URL(filled).hostname.endsWith("example.com");
  return isWhole ? filled : null;
}

/** Placeholders that instructions show in place of a key. `REFERENCE` is narrow because real keys may begin with `$`. */
const PLACEHOLDER = /^(?:x{3,}|\*{3,}|\.{3,}|<.*>|\[.*\]|your[-_ ]?.*|change[-_ ]?me|redacted|secret|none|null)$/i;
const REFERENCE = /^(?:\$\{?[A-Z][A-Z0-9_]*\}?|\$\(.*)$/;

const isStandInFor = (key: string): boolean => PLACEHOLDER.test(key) || REFERENCE.test(key);

function credentialOf(read: ReadStore, problems: string[]): CredentialDraft | null {
  const { accessKeyId, secretAccessKey, isSecretLiteral } = read;
  if (accessKeyId === null && secretAccessKey === null) {
    problems.push("it has no key: type one");
    return null;
  }
  const isStandIn =
    isStandInFor(accessKeyId ?? "") ||
    (isSecretLiteral ? PLACEHOLDER.test(secretAccessKey ?? "") : isStandInFor(secretAccessKey ?? ""));
  const parsed = credentialDraft.safeParse({ accessKeyId, secretAccessKey });
  const secretForm = isSecretLiteral ? /^[\x20-\x7e]+$/ : /^[\x21-\x7e]+$/;
  const isWhole =
    parsed.success && /^[\x21-\x7e]+$/.test(parsed.data.accessKeyId) && secretForm.test(parsed.data.secretAccessKey);
  if (isStandIn || !isWhole) {
    problems.push(isStandIn ? "its key is a stand-in: type the real one" : "its key is not whole: type it");
    return null;
  }
  if (read.sessionToken !== null && read.sessionToken !== "") {
    problems.push(
      "its key is a temporary one with a session token, which ends within hours: make a key that stays, for this bucket alone",
    );
    return null;
  }
  return parsed.data;
}

/** Makes the draft of a bucket profile from the settings that were found. Pure. */
export function makeDraft(read: ReadStore): MadeDraft {
  const problems = [...read.problems];
  const { shape } = profileDraft;
  const place = placeOf(read.endpoint, read.bucket);
  if (read.endpoint !== null && read.endpoint !== "" && place.endpoint === null) {
    problems.push("its endpoint is none: an endpoint looks like https://s3.example.com");
  }
  const byHost = place.endpoint === null ? null : providerOfHost(place.endpoint);
  const provider = byHost ?? read.provider ?? (place.endpoint === null && read.account === null ? "aws" : "other");
  const preset = PRESETS[provider];
  const given = shape.region.safeParse(read.region);
  if (read.region !== null && read.region !== "" && !given.success) {
    problems.push("its region is none: a region looks like us-east-1, or auto");
  }
  const ofHost = place.endpoint === null ? null : regionOfHost(place.endpoint);
  const region = given.success ? given.data : (ofHost ?? preset.defaultRegion);
  const endpoint = place.endpoint ?? endpointOf(provider, region, read.account);
  if (endpoint === null)
    problems.push(`its address is missing: ${preset.label} needs one like ${preset.endpointTemplate}`);
  const bucket = shape.bucket.safeParse(place.bucket);
  if (!bucket.success)
    problems.push(place.bucket === null ? "the bucket is not named: type it" : "its bucket is no name");
  const prefix = shape.prefix.safeParse(read.prefix);
  if (!prefix.success) problems.push("its folder cannot be a prefix here: it is left out");
  const name = shape.name.safeParse(read.from.slice(0, 64));
  const credential = credentialOf(read, problems);
  return {
    credential,
    draft: {
      from: read.from,
      profile: {
        name: name.success ? name.data : null,
        provider,
        bucket: bucket.success ? bucket.data : null,
        region,
        prefix: prefix.success ? prefix.data : "",
        endpoint,
        workerEndpoint: null,
        browserEndpoint: null,
        addressing: read.addressing ?? styleAt(endpoint, preset.addressing),
      },
      accessKeyHint: credential === null ? null : credential.accessKeyId.slice(-4),
      problems,
    },
  };
}
