import { expect, test } from "vitest";
import { shortText, visibleText } from "./visible-text.ts";

test("leaves ordinary names in any script alone", () => {
  expect(visibleText("checkpoint-500/モデル_é.safetensors")).toBe("checkpoint-500/モデル_é.safetensors");
});

test("shows control characters and line breaks instead of obeying them", () => {
  expect(visibleText("a\nb\u0000c\u001b[31m")).toBe("a\\u{a}b\\u{0}c\\u{1b}[31m");
});

test("shows bidirectional overrides that would disguise an extension", () => {
  expect(visibleText("model\u202egpj.exe")).toBe("model\\u{202e}gpj.exe");
  expect(visibleText("\u2066x\u2069")).toBe("\\u{2066}x\\u{2069}");
});

test("shows zero-width characters that make two names look the same", () => {
  expect(visibleText("gpu\u200b-7")).toBe("gpu\\u{200b}-7");
  expect(visibleText("\u{e0041}")).toBe("\\u{e0041}");
});

test("shows lone surrogates and keeps whole pairs", () => {
  expect(visibleText("\ud83dx")).toBe("\\u{d83d}x");
  expect(visibleText("🌊")).toBe("🌊");
});

test("shortens in the middle and keeps the end of a path", () => {
  const short = shortText("training-eu/runs/llama-8b/checkpoint-4500/model-00001-of-00004.safetensors", 30);
  expect(short).toHaveLength(30);
  expect(short.endsWith("of-00004.safetensors")).toBe(false);
  expect(short.endsWith("00004.safetensors")).toBe(true);
});
