import { randomBytes, timingSafeEqual } from "node:crypto";
import { hashOf } from "#server/platform/random-id.ts";
import type { SetupCode } from "../../api/ports/setup-code.ts";

/**
 * The code that allows the first account: a person who can read the hub's console owns the hub. It is random (160 bits) and
 * valid for an hour; the next request after that prints a new one.
 */

const LIFETIME_MS = 3_600_000;
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

function newCode(): string {
  const letters = Array.from(randomBytes(32), (byte) => ALPHABET[byte % 32]);
  return Array.from({ length: 8 }, (_, group) => letters.slice(group * 4, group * 4 + 4).join("")).join("-");
}

const digest = (code: string): Buffer => Buffer.from(hashOf(code.toUpperCase().replace(/[^A-Z0-9]/g, "")), "hex");

export function createSetupCode(options: { now: () => number; print: (code: string) => void }): SetupCode {
  let current: { digest: Buffer; until: number } | null = null;
  let closed = false;
  return {
    offer: () => {
      if (closed || (current !== null && options.now() < current.until)) return;
      const code = newCode();
      current = { digest: digest(code), until: options.now() + LIFETIME_MS };
      options.print(code);
    },
    fits: (code) =>
      !closed && current !== null && options.now() < current.until && timingSafeEqual(current.digest, digest(code)),
    close: () => {
      closed = true;
      current = null;
    },
  };
}
