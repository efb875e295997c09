
	/host:CPU
python
²/device:GPU:0ÏStream #7(Compute)€€ÌŸÂğÖë"À„=€€}""8
"À¸Æ€ğ™""8"ÀìÏ&€Èâ""8"À Ù9€Üˆ""8"ÀÔâL€Ì¥"	"8"Àˆì_€¤î""8"	dÈ"
*size:4ÑStream #8(Compute)€€ÌŸÂğÖë"ÀŞ
€ÚÜ""8"À’‹€î‚""8"ÀÆ”0€ŞŸ""8"ÀúC€¶è""8"À®§V€Ê"
"8"Àâ°i€º«""8"	dÈ"
*size:4cXLA Ops""3/+void axpy<float>(int, float const*, float*)"
reduce_sum" gemm_64x64(half*, half*)"
fusion"			MemcpyH2D*correlation_id*kernel_details*memcpy_details*U
Q
Mregs:32 static_shared:0 dynamic_shared:0 grid:16,1,1 block:256,1,1 occ_pct:50*UQMregs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1024,1,1 occ_pct:50*TPLregs:32 static_shared:0 dynamic_shared:0 grid:8,4,2 block:16,16,1 occ_pct:50*UQMregs:32 static_shared:0 dynamic_shared:0 grid:17,1,1 block:256,1,1 occ_pct:50*UQMregs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1024,1,1 occ_pct:50*TPLregs:32 static_shared:0 dynamic_shared:0 grid:8,4,2 block:16,16,1 occ_pct:50*UQMregs:32 static_shared:0 dynamic_shared:0 grid:18,1,1 block:256,1,1 occ_pct:50*UQMregs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1024,1,1 occ_pct:50*TPLregs:32 static_shared:0 dynamic_shared:0 grid:8,4,2 block:16,16,1 occ_pct:50*UQMregs:32 static_shared:0 dynamic_shared:0 grid:19,1,1 block:256,1,1 occ_pct:50*UQMregs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1024,1,1 occ_pct:50*TPLregs:32 static_shared:0 dynamic_shared:0 grid:8,4,2 block:16,16,1 occ_pct:50"host