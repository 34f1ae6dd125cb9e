import { expect, test } from "vitest";
import { readHubAddress } from "./hub-address.ts";

const careful = { allowHttp: "loopback-only" } as const;

test.each(["https://hub.example.com", "http://127.0.0.1:3000", "http://localhost:3000", "http://[::1]:3000"])(
  "%s is fine",
  (address) => {
    expect(readHubAddress(`${address}/`, careful)).toBe(address);
  },
);

test("plain http to another machine is refused, because the credential could be read", () => {
  expect(() => readHubAddress("http://hub.example.com", careful)).toThrow("plain http");
  expect(() => readHubAddress("http://127.0.0.1.example.com", careful)).toThrow("plain http");
});

test("a flag allows it", () => {
  expect(readHubAddress("http://10.0.0.5:3000", { allowHttp: "yes" })).toBe("http://10.0.0.5:3000");
});

test.each([null, "hub.example.com", "ftp://hub", "https://user:secret@hub"])(
  "%s is refused with a sentence",
  (address) => {
    expect(() => readHubAddress(address, careful)).toThrow("--hub");
  },
);
