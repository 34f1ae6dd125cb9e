-- The join token a node came with.
ALTER TABLE "Node" ADD COLUMN "tokenId" TEXT;
