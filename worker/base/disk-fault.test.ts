import { expect, test } from "vitest";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { diskFault } from "./disk-fault.ts";

const about = { op: "read", subject: "/data/a", otherwise: "READ_FAILED" } as const;
const faultOf = (code: string) => diskFault(Object.assign(new Error(code), { code }), about);

test.each([
  ["EMFILE", "ulimit -n"],
  ["ENFILE", "fs.file-max"],
])("where no more files may be opened (%s) the limit is named, and not the disk alone", (code, limit) => {
  expect(faultOf(code)).toMatchObject({ code: "READ_FAILED" });
  expect(sentenceOf(faultOf(code).toData())).toContain(limit);
});

test("a full disk is one, and other errors have their code", () => {
  expect([faultOf("ENOSPC").code, faultOf("EDQUOT").code]).toEqual(["NO_SPACE", "NO_SPACE"]);
  expect(sentenceOf(faultOf("EIO").toData())).toContain("(EIO)");
});
