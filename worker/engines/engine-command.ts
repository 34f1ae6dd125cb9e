/** Argument with which `tidemark bench` starts a second Tidemark process. Not a command for users. */
export const ENGINE_COMMAND = "engine-request";
