-- Files that browsers send straight to a bucket.
-- CreateTable
CREATE TABLE "BrowserUpload" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "userId" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "sizeBytes" BIGINT NOT NULL,
    "partBytes" BIGINT NOT NULL,
    "uploadId" TEXT,
    "nonce" TEXT NOT NULL,
    "checksum" TEXT NOT NULL,
    "replaces" BOOLEAN NOT NULL,
    "startedAt" DATETIME NOT NULL,
    "endedAt" DATETIME,
    "etag" TEXT,
    CONSTRAINT "BrowserUpload_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "BrowserUpload_userId_idx" ON "BrowserUpload"("userId");

-- CreateIndex
CREATE INDEX "BrowserUpload_startedAt_idx" ON "BrowserUpload"("startedAt");
