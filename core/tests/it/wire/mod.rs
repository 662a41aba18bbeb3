mod codec;
