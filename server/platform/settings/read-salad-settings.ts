import * as z from "zod";
import type { JSONWebKeySet } from "jose";
import { Fault } from "#protocol/faults/fault.ts";
import { fleetName } from "#protocol/base/names.ts";
import { runPatterns } from "#protocol/base/scope.ts";

/** Workloads of SaladCloud that may enroll without a join token. */
export interface SaladSettings {
  organizations: readonly string[];
  workloads: readonly string[];
  /** Allowed values of `aud`, which the platform sets to the organization's id. */
  audience: readonly string[];
  /** Required value of `iss`; null: it is not checked, because the signing keys already identify the platform. */
  issuer: string | null;
  keys: { kind: "remote"; url: URL } | { kind: "fixed"; jwks: JSONWebKeySet };
  profileName: string | null;
  fleet: string;
  /** Patterns of the runs that they may write; null: those they name when they enroll, and new ones. */
  runs: string | null;
}

/** The address of the platform's public keys (https://docs.salad.com/container-engine/reference/imds/get-token). */
const KEYS_URL = "https://matrix-rest-api.salad.com/.well-known/workload-jwks.json";

/** The address of the platform's API (https://docs.salad.com/reference/saladcloud-api). */
const API_URL = "https://api.salad.com/api/public";

const keySet = z.object({
  keys: z.array(z.looseObject({ kty: z.literal("RSA"), n: z.string(), e: z.string() })).min(1),
});

type Read = (name: string) => string | null;

const refuse = (name: string, detail: string): Fault => new Fault("BAD_INPUT", { subject: name, detail });

const listOf = (text: string | null): string[] =>
  (text ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");

function keysOf(read: Read): SaladSettings["keys"] {
  const fixed = read("TIDEMARK_SALAD_JWKS");
  if (fixed !== null) {
    try {
      return { kind: "fixed", jwks: keySet.parse(JSON.parse(fixed)) };
    } catch {
      throw refuse("TIDEMARK_SALAD_JWKS", 'it is a set of public RSA keys: {"keys":[{"kty":"RSA", ...}]}');
    }
  }
  return { kind: "remote", url: addressOf(read, { name: "TIDEMARK_SALAD_JWKS_URL", usual: KEYS_URL }) };
}

/** Reads an https address, or a plain one of this machine. @throws Fault BAD_INPUT */
function addressOf(read: Read, { name, usual }: { name: string; usual: string }): URL {
  const url = URL.parse(read(name) ?? usual);
  const isPlainHere = url?.protocol === "http:" && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname);
  if (url === null || !(url.protocol === "https:" || isPlainHere) || url.username !== "" || url.password !== "") {
    throw refuse(name, "it is an https address without a password");
  }
  return url;
}

/** Reads the address of the platform's API, to which the keys of accounts are sent. @throws Fault BAD_INPUT */
export function readSaladApi(read: Read): URL {
  const url = addressOf(read, { name: "TIDEMARK_SALAD_API_URL", usual: API_URL });
  if (url.search === "" && url.hash === "") return url;
  throw refuse("TIDEMARK_SALAD_API_URL", "it is an address without ? and #");
}

/**
 * Reads the settings of workloads; null when none is set. `read` returns the text of a variable. @throws Fault BAD_INPUT,
 * naming the variable
 */
export function readSaladSettings(read: Read): SaladSettings | null {
  const organizations = listOf(read("TIDEMARK_SALAD_ORGANIZATIONS"));
  const workloads = listOf(read("TIDEMARK_SALAD_WORKLOADS"));
  if (organizations.length === 0 && workloads.length === 0) return null;
  if (organizations.length === 0)
    throw refuse("TIDEMARK_SALAD_ORGANIZATIONS", "it names the organizations by their ids");
  if (workloads.length === 0) throw refuse("TIDEMARK_SALAD_WORKLOADS", "it names the container groups by their ids");
  const audience = listOf(read("TIDEMARK_SALAD_AUDIENCE"));
  const fleet = fleetName.safeParse(read("TIDEMARK_SALAD_FLEET") ?? "salad");
  if (!fleet.success) throw refuse("TIDEMARK_SALAD_FLEET", fleet.error.issues[0]?.message ?? "not a fleet's name");
  const wanted = read("TIDEMARK_SALAD_RUNS");
  const runs = wanted === null ? null : runPatterns.safeParse(wanted);
  if (runs?.success === false)
    throw refuse("TIDEMARK_SALAD_RUNS", runs.error.issues[0]?.message ?? "no patterns of runs");
  return {
    organizations,
    workloads,
    audience: audience.length === 0 ? organizations : audience,
    issuer: read("TIDEMARK_SALAD_ISSUER"),
    keys: keysOf(read),
    profileName: read("TIDEMARK_SALAD_PROFILE"),
    fleet: fleet.data,
    runs: runs?.data ?? null,
  };
}
