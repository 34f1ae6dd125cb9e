/** The word by which a Tidemark that measures starts a second one. No command of people. */
export const ERRAND_WORD = "engine-errand";
