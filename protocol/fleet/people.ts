import * as z from "zod";
import { instant, rowNumber } from "../base/bounded.ts";
import { id } from "../base/names.ts";
import { email, password, role, type Role } from "../wire/requests.ts";

/** Accounts, the ways into them, and the record of what they did: what people send, and what they are shown. */

const DAY_MS = 86_400_000;
const validFor = (longestDays: number) =>
  z
    .number()
    .int()
    .min(300_000, "it has to be good for five minutes at least")
    .max(longestDays * DAY_MS, `it is good for ${longestDays} days at most`);

export const inviteInput = z.object({ email, role, validMs: validFor(30).default(3 * DAY_MS) });
export const takeCodeInput = z.object({ code: z.string().trim().min(1).max(128), password });
export const setRoleInput = z.object({ id, role });
export const changePasswordInput = z.object({ old: z.string().max(256), password });
/** Whose: null is one's own. */
export const ofUserInput = z.object({ userId: id.nullable().default(null) });
export const createApiTokenInput = z.object({
  name: z.string().trim().min(1, "a token needs a name").max(64),
  role,
  validMs: validFor(366).default(90 * DAY_MS),
});
export const listAuditInput = z.object({
  /** Id of an account, a node or an API token: everything it did, under whatever name. */
  actorId: id.nullable().default(null),
  action: z.string().min(1).max(64).nullable().default(null),
  /** Part of the subject's name, or the id of the subject. */
  subject: z.string().min(1).max(256).nullable().default(null),
  /** Epoch ms; `until` is left out. */
  from: instant.nullable().default(null),
  until: instant.nullable().default(null),
  /** Id of the last row of the page before. */
  cursor: rowNumber.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(100),
});

export interface UserView {
  id: string;
  email: string;
  role: Role;
  createdAt: number;
  disabledAt: number | null;
  /** Last use of any of its sessions that are open. */
  seenAt: number | null;
  sessions: number;
  apiTokens: number;
}

/** An invitation, or a reset of the password of an account. */
export interface CodeView {
  id: string;
  kind: CodeKind;
  email: string;
  role: Role;
  createdAt: number;
  expiresAt: number;
  usedAt: number | null;
  revokedAt: number | null;
}
export type CodeKind = "invitation" | "reset";

export interface SessionView {
  id: string;
  createdAt: number;
  seenAt: number;
  expiresAt: number;
  /** Where it was opened from: an address, or the network of an IPv6 one. */
  address: string;
  /** Names of a short list, never the stranger's own words; null when it is none of them. */
  browser: string | null;
  system: string | null;
  isThis: boolean;
}

export interface ApiTokenView {
  id: string;
  name: string;
  role: Role;
  userId: string;
  email: string;
  /** First characters, to recognise it by. */
  hint: string;
  createdAt: number;
  expiresAt: number;
  /** To within a minute. */
  lastUsedAt: number | null;
  revokedAt: number | null;
}

export const ACTOR_KINDS = ["person", "token", "node", "hub", "nobody"] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

export interface AuditRow {
  /** Ascending; the cursor of the list. */
  id: number;
  at: number;
  actorKind: ActorKind;
  /** The account behind it, or the node; null for the hub itself. */
  actorId: string | null;
  /** The API token it came with. */
  tokenId: string | null;
  /** The name at that time. */
  actor: string;
  /** What that account or node is called now; null when it is gone. */
  actorNow: string | null;
  action: string;
  subject: string;
  subjectId: string | null;
  address: string | null;
  /** Of what is counted rather than listed, such as signatures: how often, until when. */
  times: number;
  lastAt: number | null;
}
