/** The path of the API. */
export const API_PATH = "/api/trpc/";
