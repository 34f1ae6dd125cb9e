import * as z from "zod";
import { instant, rowNumber } from "../base/bounded.ts";
import { id } from "../base/names.ts";
import { email, password, role, type Role } from "../wire/requests.ts";

/** Accounts, sign-in and the audit log: inputs of the procedures and their answers. */

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
/** Selects an account; null: the caller's own. */
export const ofUserInput = z.object({ userId: id.nullable().default(null) });
export const createApiTokenInput = z.object({
  name: z.string().trim().min(1, "a token needs a name").max(64),
  role,
  validMs: validFor(366).default(90 * DAY_MS),
});
export const listAuditInput = z.object({
  /** Id of an account, a node or an API token: everything it did, under any name. */
  actorId: id.nullable().default(null),
  action: z.string().min(1).max(64).nullable().default(null),
  /** Part of the subject's name, or the subject's id. */
  subject: z.string().min(1).max(256).nullable().default(null),
  /** Epoch ms; `until` is exclusive. */
  from: instant.nullable().default(null),
  until: instant.nullable().default(null),
  /** Id of the last row of the previous page. */
  cursor: rowNumber.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(100),
});

export interface UserView {
  id: string;
  email: string;
  role: Role;
  createdAt: number;
  disabledAt: number | null;
  /** Last use of any of its open sessions. */
  seenAt: number | null;
  sessions: number;
  apiTokens: number;
}

/** An invitation, or a password reset for an account. */
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
  /** Address from which the session was opened; for IPv6 its network. */
  address: string;
  /** Names from a fixed list, never text that the client sent; null when none matches. */
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
  /** First characters, by which people recognize it. */
  hint: string;
  createdAt: number;
  expiresAt: number;
  /** Accurate to a minute. */
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
  /** The account or the node that acted; null for the hub itself. */
  actorId: string | null;
  /** The API token that was used. */
  tokenId: string | null;
  /** Name at that time. */
  actor: string;
  /** Present name of that account or node; null when it is deleted. */
  actorNow: string | null;
  action: string;
  subject: string;
  subjectId: string | null;
  address: string | null;
  /** Number and last time of actions that are counted instead of listed, such as signatures. */
  times: number;
  lastAt: number | null;
}
