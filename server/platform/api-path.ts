/** Where the API is mounted. */
export const API_PATH = "/api/trpc/";
