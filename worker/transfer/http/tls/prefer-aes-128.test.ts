import { createSecureContext, DEFAULT_CIPHERS } from "node:tls";
import { expect, test } from "vitest";
import { preferAes128 } from "./prefer-aes-128.ts";

test("AES-128-GCM goes first, and nothing else changes its place", () => {
  const list =
    "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:!MD5";
  expect(preferAes128(list)).toBe(
    "TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256:TLS_AES_256_GCM_SHA384:ECDHE-RSA-AES256-GCM-SHA384:!MD5",
  );
});

test("Node takes its own list in this order", () => {
  const ciphers = preferAes128(DEFAULT_CIPHERS);
  expect(ciphers).toHaveLength(DEFAULT_CIPHERS.length);
  expect(() => createSecureContext({ ciphers })).not.toThrow();
});
