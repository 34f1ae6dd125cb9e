import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { databaseFailure } from "./database-failure.ts";

const network = (code: string): Error => Object.assign(new Error(`connect ${code} 127.0.0.1:9000`), { code });

test("an error of the network to a store is none of the database", () => {
  for (const code of ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENOTFOUND"]) {
    expect(databaseFailure(network(code))).toBeNull();
    expect(databaseFailure(new Fault("LINK_DOWN", { cause: network(code) }))).toBeNull();
  }
});

test("what the driver of PostgreSQL says of a lost connection is told as a database out of reach, at any depth", () => {
  const said = new Error("Connection terminated unexpectedly");
  expect(databaseFailure(new Error("a call failed", { cause: said }))).toBe("DATABASE_UNREACHABLE");
  const inField = Object.assign(new Error("Raw query failed"), { code: "P2010", meta: { driverAdapterError: said } });
  expect(databaseFailure(inField)).toBe("DATABASE_UNREACHABLE");
  expect(databaseFailure(new Error("x", { cause: new Fault("DATABASE_UNREACHABLE") }))).toBe("DATABASE_UNREACHABLE");
});

test("a full disk outweighs what came of it", () => {
  const full = { originalCode: "53100", message: "could not extend file" };
  const error = Object.assign(new Error("late"), { code: "P2028", cause: full });
  expect(databaseFailure(error)).toBe("HUB_DISK_FULL");
});
