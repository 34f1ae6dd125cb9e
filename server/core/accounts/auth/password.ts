import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { createFairQueue } from "#server/platform/fair-queue.ts";

/**
 * Hashes passwords with scrypt; a hash carries its parameters: `scrypt$17$8$1$salt$hash`. A hash takes 128 MiB while it is
 * computed, so few are computed at once, and excess tries are refused rather than filling the memory. Networks take turns:
 * tries from one of them do not delay a sign-in from another.
 */

export const PASSWORD_COST = 17;
const BLOCK = 8;
const queue = createFairQueue({ atOnce: 2, atOnceEach: 1, waiting: 32, waitingEach: 6 });

/** The cost of a hash, and the network it is computed for. */
export interface HashTerms {
  /** log2 of scrypt's N. */
  cost: number;
  /** The network of the caller. */
  network: string;
}

/** Returns the terms of a caller's hashes. */
export const hashTerms = (context: { hub: { passwordCost: number }; address: string }): HashTerms => ({
  cost: context.hub.passwordCost,
  network: context.address,
});

function derive(text: string, salt: Buffer, { cost, network }: HashTerms): Promise<Buffer> {
  const options = { N: 2 ** cost, r: BLOCK, p: 1, maxmem: 256 * BLOCK * 2 ** cost };
  return queue.run(
    network,
    () =>
      new Promise<Buffer>((resolve, reject) =>
        scrypt(text.normalize("NFC"), salt, 32, options, (error, key) =>
          error === null ? resolve(key) : reject(error),
        ),
      ),
  );
}

/** Returns the hash of a new password. @throws Fault TOO_MANY_TRIES */
export async function hashPassword(text: string, terms: HashTerms): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(text, salt, terms);
  return ["scrypt", terms.cost, BLOCK, 1, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/**
 * Returns whether `text` is the password of `hash`. Without a hash (unknown account) the call hashes at `cost`, so it takes
 * as long, and returns false. @throws Fault TOO_MANY_TRIES
 */
export async function passwordFits(text: string, hash: string | null, terms: HashTerms): Promise<boolean> {
  const [, storedCost, , , salt, key] = (hash ?? "").split("$");
  if (storedCost === undefined || salt === undefined || key === undefined) {
    await derive(text, randomBytes(16), terms);
    return false;
  }
  const expected = Buffer.from(key, "base64url");
  const stored = { ...terms, cost: Number(storedCost) };
  const actual = await derive(text, Buffer.from(salt, "base64url"), stored);
  return timingSafeEqual(expected, actual);
}
