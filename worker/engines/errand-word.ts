/** Argument with which `tidemark bench` starts a second Tidemark process. Not a command for users. */
export const ERRAND_WORD = "engine-errand";
