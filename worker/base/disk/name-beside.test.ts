import { expect, test } from "vitest";
import { nameBeside } from "./name-beside.ts";

test("a name gets what is put around it, and one that would be too long for a disk is cut and told apart by its hash", () => {
  const around = { before: ".", behind: ".restoring-0123456789ab" };
  expect(nameBeside("/w/step_10", around)).toBe("/w/.step_10.restoring-0123456789ab");
  const bytesOf = (name: string, about: Parameters<typeof nameBeside>[1]) =>
    Buffer.byteLength(nameBeside(`/w/${name}`, about).slice("/w/".length));
  for (const name of ["m".repeat(255), "é".repeat(127), "😀".repeat(63)]) {
    expect(bytesOf(name, around)).toBeLessThanOrEqual(255);
    expect(bytesOf(name, around)).toBeGreaterThan(245);
    expect(bytesOf(name, { before: ".set-aside-", roomBytes: 16 })).toBeLessThanOrEqual(239);
    expect(nameBeside(`/w/${name}`, around).isWellFormed()).toBe(true);
    expect(nameBeside(`/w/${name}`, around)).not.toBe(nameBeside(`/w/${name.slice(0, -2)}xy`, around));
  }
});
