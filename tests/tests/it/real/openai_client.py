"""openai_client.py BASE_URL MODEL: what an application does with the official client."""

import sys
from concurrent.futures import ThreadPoolExecutor

import openai

base_url, model = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, max_retries=0, timeout=120)
question = [{"role": "user", "content": "What is the capital of France? Answer in one sentence."}]
answer = "The capital of France is Paris."

listed = client.models.list().data
assert [m.id for m in listed] == [model], listed
assert client.models.retrieve(model).id == model

whole = client.chat.completions.create(model=model, messages=question, temperature=0)
assert whole.choices[0].message.content == answer, whole
assert whole.choices[0].finish_reason == "stop", whole
assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (42, 8), whole.usage
assert whole.usage.prompt_tokens_details.cached_tokens == 0, whole.usage

stream = client.chat.completions.create(
    model=model, messages=question, temperature=0, stream=True, stream_options={"include_usage": True})
chunks = list(stream)
text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
assert text == answer, text
assert chunks[-1].usage.completion_tokens == 8, chunks[-1]
assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]

parts = [{"role": "user", "content": [{"type": "text", "text": question[0]["content"]}]}]
assert client.chat.completions.create(model=model, messages=parts, temperature=0).choices[0].message.content == answer

scored = client.chat.completions.create(model=model, messages=question, temperature=0, logprobs=True, top_logprobs=2)
tokens = scored.choices[0].logprobs.content
assert b"".join(bytes(t.bytes) for t in tokens).decode() == answer, tokens
assert all(t.logprob <= 0 and len(t.top_logprobs) == 2 for t in tokens), tokens

plain = client.completions.create(model=model, prompt="The capital of France is", temperature=0, max_tokens=8)
assert plain.choices[0].text and plain.usage.completion_tokens == 8, plain

# Several prompts are a choice each, and say what they say alone.
prompts = ["The capital of France is", "One, two, three,"]
alone = [client.completions.create(model=model, prompt=p, temperature=0, max_tokens=8) for p in prompts]
both = client.completions.create(model=model, prompt=prompts, temperature=0, max_tokens=8)
assert [c.index for c in both.choices] == [0, 1], both
assert [c.text for c in both.choices] == [a.choices[0].text for a in alone], both
assert both.usage.total_tokens == sum(a.usage.total_tokens for a in alone), both.usage
texts, finishes, usages = ["", ""], [], []
for chunk in client.completions.create(model=model, prompt=prompts, temperature=0, max_tokens=8, stream=True,
                                       stream_options={"include_usage": True}):
    usages += [chunk.usage] if chunk.usage else []
    for choice in chunk.choices:
        texts[choice.index] += choice.text
        finishes += [choice.index] if choice.finish_reason else []
assert texts == [c.text for c in both.choices] and sorted(finishes) == [0, 1], (texts, finishes)
assert [u.completion_tokens for u in usages] == [16], usages

with ThreadPoolExecutor(8) as pool:
    asked = [pool.submit(client.chat.completions.create, model=model, temperature=0, max_tokens=40,
                         messages=[{"role": "user", "content": f"Write a line about the number {n}."}])
             for n in range(8)]
    assert all(a.result().choices[0].message.content for a in asked)


def fails(kind, status, code, **request):
    try:
        client.chat.completions.create(**{"model": model, "messages": question, **request})
    except kind as error:
        assert error.status_code == status and error.body["message"], error
        assert error.code == code, (error.code, code)
    else:
        raise AssertionError(f"{request} was answered")


fails(openai.BadRequestError, 400, "invalid_value", temperature=-1)
fails(openai.NotFoundError, 404, "model_not_found", model="no-such-model")
image = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
fails(openai.BadRequestError, 400, "unsupported_input", messages=[{"role": "user", "content": image}])
client = client.with_options(api_key="another key")
fails(openai.AuthenticationError, 401, "invalid_api_key")
