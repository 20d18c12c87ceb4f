"""Tokens of a GPT-2 with random weights, one after the other."""

import sys

import torch
import transformers

torch.manual_seed(0)
model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda().eval()
prompt = torch.randint(0, 50257, (8, 64), device="cuda")
tokens = model.generate(
    prompt,
    attention_mask=torch.ones_like(prompt),
    max_new_tokens=int(sys.argv[1]) if len(sys.argv) > 1 else 256,
    do_sample=False,
    eos_token_id=None,
    pad_token_id=0,
)
print(tuple(tokens.shape))
