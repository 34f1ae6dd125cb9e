import * as z from "zod";
import { compileTensorPattern } from "./tensor-pattern.ts";

/** Largest number of patterns in one restore, and of characters in one pattern. */
const MOST_PATTERNS = 64;
const MOST_CHARACTERS = 512;

const tensorPattern = z
  .string()
  .min(1, "the pattern is empty")
  .max(MOST_CHARACTERS)
  .superRefine((text, context) => {
    const compiled = compileTensorPattern(text);
    if ("reason" in compiled)
      context.addIssue({ code: "custom", message: `the pattern was refused: ${compiled.reason}` });
  });

/** Patterns for tensors; each must match at least one. */
export const tensorPatterns = z.array(tensorPattern).min(1).max(MOST_PATTERNS, `at most ${MOST_PATTERNS} patterns`);
