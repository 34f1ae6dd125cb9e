import { z } from "zod";

/**
 * What real folders, names, keys and machines bring, root by root: each file `root-N.ts` beside this one exports one `root`. They are the
 * source of docs/situations.md; a check of the gate holds that every named test exists and that the page says what they say.
 */

const row = z.strictObject({
  /** What a person finds on the machine or in the bucket. */
  situation: z.string().min(10),
  /** What Tidemark does then, in one or two sentences. */
  outcome: z.string().min(10),
  /** The test that fails when it does not: `path/of/file.test.ts > its title`. */
  test: z.string().regex(/^[\w./()-]+\.(?:test|spec)\.tsx? > \S/),
});

export const root = z.strictObject({ number: z.int().min(1), title: z.string(), rows: z.array(row).min(1) });

export type Root = z.infer<typeof root>;
