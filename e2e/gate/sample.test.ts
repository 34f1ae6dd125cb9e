import { expect, test } from "vitest";
import { choose, commentsOf, paragraphsOf } from "./sample.ts";

const texts = (passages: { text: string }[]) => passages.map(({ text }) => text);

test("comments are blocks, and lines that follow each other as one, with their places", () => {
  const source =
    '/** Returns it. */\nconst at = "http://x"; // not this\n\n  // Because of\n  // that.\nrun();\n// Other.\n';
  expect(commentsOf("a.ts", source)).toEqual([
    { place: "a.ts:1", text: "/** Returns it. */" },
    { place: "a.ts:4", text: "// Because of\n  // that." },
    { place: "a.ts:7", text: "// Other." },
  ]);
});

test("paragraphs are prose alone", () => {
  const page = "# Title\nOne\nline.\n\n| a | b |\n\n```sh\nnot this\n\nnor this\n```\n\n* Two.\n";
  expect(texts(paragraphsOf("a.md", page))).toEqual(["One\nline.", "* Two."]);
  expect(paragraphsOf("a.md", page)[1]?.place).toBe("a.md:13");
});

test("the same seed chooses the same passages, each once, and another seed others", () => {
  const all = Array.from({ length: 100 }, (_, index) => ({ place: `a:${index}`, text: String(index) }));
  const first = choose(all, { seed: 7, count: 10 });
  expect(choose(all, { seed: 7, count: 10 })).toEqual(first);
  expect(new Set(texts(first)).size).toBe(10);
  expect(choose(all, { seed: 8, count: 10 })).not.toEqual(first);
  expect(choose(all.slice(0, 3), { seed: 7, count: 10 })).toHaveLength(3);
});
