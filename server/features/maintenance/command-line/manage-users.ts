import { randomBytes } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import {
  email as emailSchema,
  password as passwordSchema,
  role as roleSchema,
  type Role,
} from "#protocol/wire/requests.ts";
import type { Database, Transaction } from "#prisma/open.ts";
import { hashPassword } from "#server/core/accounts/auth/password.ts";
import { closeLinksOf, keepAnAdmin } from "#server/core/accounts/users/accounts.ts";
import { newId } from "#server/platform/random-id.ts";

/** Manages accounts directly in the database, for an operator with access to the data folder when nobody can sign in. */

export interface UsersAt {
  db: Database;
  /** Epoch ms. */
  now: number;
  /** log2 of scrypt's N. */
  passwordCost: number;
}

const emailOf = (text: string): string => {
  const parsed = emailSchema.safeParse(text);
  if (!parsed.success) throw new Fault("BAD_INPUT", { subject: text, detail: "this is no e-mail address" });
  return parsed.data;
};

const roleOf = (text: string): Role => {
  const parsed = roleSchema.safeParse(text);
  if (!parsed.success) throw new Fault("BAD_INPUT", { subject: text, detail: "a role is viewer, operator or admin" });
  return parsed.data;
};

/** Returns the given password, or a new one of 26 characters. @throws Fault BAD_INPUT */
function passwordOf(given: string | null): string {
  if (given === null) return randomBytes(20).toString("base64url").slice(0, 26);
  const parsed = passwordSchema.safeParse(given);
  if (!parsed.success) throw new Fault("BAD_INPUT", { subject: "password", detail: "it has 12 to 256 characters" });
  return parsed.data;
}

export interface UserLine {
  email: string;
  role: string;
  isDisabled: boolean;
  createdAt: number;
}

export async function listUsers({ db }: Pick<UsersAt, "db">): Promise<UserLine[]> {
  const rows = await db.user.findMany({ orderBy: { email: "asc" } });
  return rows.map(({ email, role, disabledAt, createdAt }) => ({
    email,
    role,
    isDisabled: disabledAt !== null,
    createdAt: createdAt.getTime(),
  }));
}

async function findUser(tx: Transaction, email: string) {
  const user = await tx.user.findUnique({ where: { email } });
  if (user === null) throw new Fault("NOT_FOUND", { op: "user", subject: email });
  return user;
}

const writeAudit = (tx: Transaction, now: number, entry: { action: string; subject: string }) =>
  tx.audit.create({ data: { at: new Date(now), actor: "command line", ...entry } });

/** Creates an account. Returns the password if one was generated; null if it was given. @throws Fault BAD_INPUT, CONFLICT */
export async function createUser(
  { db, now, passwordCost }: UsersAt,
  input: { email: string; role: string; password: string | null },
): Promise<string | null> {
  const email = emailOf(input.email);
  const role = roleOf(input.role);
  const password = passwordOf(input.password);
  const passwordHash = await hashPassword(password, { cost: passwordCost, network: "console" });
  await db.$transaction(async (tx) => {
    if ((await tx.user.findUnique({ where: { email } })) !== null) {
      throw new Fault("CONFLICT", { op: "user create", subject: email, detail: "there is an account of this address" });
    }
    await tx.user.create({ data: { id: newId(), email, role, passwordHash, createdAt: new Date(now) } });
    await writeAudit(tx, now, { action: "create user", subject: `${email} (${role})` });
  });
  return input.password === null ? password : null;
}

/** Sets the role of an account and signs it out. @throws Fault BAD_INPUT, NOT_FOUND, LAST_ADMIN */
export async function setRole({ db, now }: UsersAt, input: { email: string; role: string }): Promise<void> {
  const role = roleOf(input.role);
  await db.$transaction(async (tx) => {
    const user = await findUser(tx, emailOf(input.email));
    if (role !== "admin") {
      await keepAnAdmin(tx, user);
      await closeLinksOf(tx, user, new Date(now));
    }
    await tx.user.update({ where: { id: user.id }, data: { role } });
    await tx.session.deleteMany({ where: { userId: user.id } });
    await writeAudit(tx, now, { action: "set role", subject: `${user.email} (${role})` });
  });
}

/** Disables an account until it gets a new password. @throws Fault NOT_FOUND, LAST_ADMIN */
export async function disableUser({ db, now }: UsersAt, input: { email: string }): Promise<void> {
  await db.$transaction(async (tx) => {
    const user = await findUser(tx, emailOf(input.email));
    await keepAnAdmin(tx, user);
    await closeLinksOf(tx, user, new Date(now));
    await tx.user.update({ where: { id: user.id }, data: { disabledAt: new Date(now) } });
    await tx.session.deleteMany({ where: { userId: user.id } });
    await writeAudit(tx, now, { action: "disable user", subject: user.email });
  });
}

/**
 * Sets a password and signs the account out. Returns the password if one was generated; null if it was given.
 * @throws Fault BAD_INPUT, NOT_FOUND
 */
export async function setPassword(
  { db, now, passwordCost }: UsersAt,
  input: { email: string; password: string | null },
): Promise<string | null> {
  const email = emailOf(input.email);
  const password = passwordOf(input.password);
  const passwordHash = await hashPassword(password, { cost: passwordCost, network: "console" });
  await db.$transaction(async (tx) => {
    const user = await findUser(tx, email);
    await tx.user.update({ where: { id: user.id }, data: { passwordHash, disabledAt: null } });
    await tx.session.deleteMany({ where: { userId: user.id } });
    await writeAudit(tx, now, { action: "set password", subject: email });
  });
  return input.password === null ? password : null;
}
