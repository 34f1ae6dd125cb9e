import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { Fault } from "#protocol/fault.ts";

/**
 * Passwords are kept as scrypt hashes that carry their own parameters: `scrypt$17$8$1$salt$hash`. One hash takes 128 MiB
 * while it is computed, so few are computed at once and a crowd of tries is turned away instead of filling the memory.
 */

export const PASSWORD_COST = 17;
const BLOCK = 8;
const AT_ONCE = 2;
const MOST_WAITING = 32;

let running = 0;
const queue: (() => void)[] = [];

async function inTurn<T>(task: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (queue.length >= MOST_WAITING) throw new Fault("TOO_MANY_TRIES");
    await new Promise<void>((resolve) => queue.push(resolve));
  } else running++;
  try {
    return await task();
  } finally {
    const next = queue.shift();
    if (next === undefined) running--;
    else next();
  }
}

function derive(text: string, salt: Buffer, cost: number): Promise<Buffer> {
  const options = { N: 2 ** cost, r: BLOCK, p: 1, maxmem: 256 * BLOCK * 2 ** cost };
  return inTurn(
    () =>
      new Promise<Buffer>((resolve, reject) =>
        scrypt(text.normalize("NFC"), salt, 32, options, (error, key) =>
          error === null ? resolve(key) : reject(error),
        ),
      ),
  );
}

/** `cost` is log2 of scrypt's N. */
export async function hashPassword(text: string, cost: number): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(text, salt, cost);
  return ["scrypt", cost, BLOCK, 1, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/**
 * Whether `text` is the password of `hash`. Without a hash (no such account) it takes as long as with one, computed at
 * `cost`, and the answer is false.
 */
export async function passwordFits(text: string, hash: string | null, cost: number): Promise<boolean> {
  const [, storedCost, , , salt, key] = (hash ?? "").split("$");
  if (storedCost === undefined || salt === undefined || key === undefined) {
    await derive(text, randomBytes(16), cost);
    return false;
  }
  const expected = Buffer.from(key, "base64url");
  const actual = await derive(text, Buffer.from(salt, "base64url"), Number(storedCost));
  return timingSafeEqual(expected, actual);
}
