"""Concepts of homes, machines, bodies, work, law and learning. See `thesaurus` for the notation."""

from __future__ import annotations

CONCEPTS = """
phone cell cellphone mobile smartphone handset 手机 电话
laptop notebook_computer 笔记本电脑
computer pc desktop 电脑 计算机
screen display monitor 屏幕 显示器
start boot_up turn_on power_on switch_on fire_up 开机 启动
shut_down power_off turn_off switch_off 关机
stop quit end cease discontinue 停止 停
freeze hang freeze_up lock_up 卡住 死机 卡死
slow sluggish laggy 慢 卡顿
fast rapid speedy swift 快 迅速
error fault bug glitch 报错
fix repair mend resolve solve sort_out 修 修理 维修 修好 解决
install set_up setup installation 安装 装
connect connection pair 连接 连
internet wifi wi-fi wi_fi web 网络 上网
restart reboot power_cycle 重启
update updating patch 更新
download 下载
upload 上传
backup back_up 备份
log_in login sign_in logon log_on log_into sign_into 登录 登陆
sign_up register registration enrol enroll enrolment create_an_account 注册 报名
password passcode 密码
reset 重置 重设
delete remove erase wipe get_rid_of 删除 删掉 移除
save 保存
photo picture pic 照片 相片
video clip 视频
file document 文件 文档
folder directory 文件夹 目录
program app application software 程序 应用 软件
code source_code 代码
function method 函数 方法
charger power_adapter power_brick 充电器
battery 电池
print printing 打印
headphone headset earphone 耳机
tv television telly 电视 电视机
fridge refrigerator 冰箱
washing_machine washer 洗衣机
dryer tumble_dryer 烘干机
dishwasher 洗碗机
oven 烤箱
stove cooker hob cooktop 炉灶
vacuum vacuum_cleaner hoover 吸尘器
heater heating radiator 暖气
air_conditioner air_conditioning aircon ac a/c 空调
tap faucet 水龙头
toilet loo 马桶
pipe 水管
leak drip leaking dripping 漏水 漏
noise sound noisy 噪音 声音 吵
loud 大声
smell odor odour stink 味道 气味
dirty filthy unclean 脏
stain mark spot stained 污渍
clean wash cleaning 清洗 洗 清洁
paint 油漆
wall 墙
kitchen 厨房
bathroom 浴室 卫生间
bedroom 卧室
house home 房子 家里
flat apartment 公寓
garden yard backyard 花园 院子
garbage trash rubbish waste 垃圾
car vehicle automobile auto 汽车 车子 轿车 车
bike bicycle cycle 自行车
motorcycle motorbike 摩托车
truck lorry 卡车
gas petrol gasoline 汽油
tire tyre flat_tire 轮胎
brake 刹车
park parking 停车
drive 开车 驾驶
rent lease rental let_out 租 出租 租赁
landlord property_owner 房东
tenant renter 租客 租户
roommate flatmate housemate 室友
neighbor neighbour 邻居
move_out vacate 搬走
move_in 搬进
kid child children 孩子 小孩 儿童
baby infant 宝宝 婴儿
doctor physician gp 医生 大夫
dentist 牙医
medicine medication drug meds 药 药物
tablet pill 药片
hurt ache pain painful sore achy 疼 痛
sick ill unwell 生病 不舒服 病
fever high_temperature 发烧 发热
temperature 温度
cough 咳嗽
tired exhausted fatigue fatigued worn_out 累 疲劳 疲惫
sleep asleep 睡 睡觉 睡眠
allergic allergy allergies 过敏
pregnant pregnancy expecting_a_baby 怀孕 孕妇
weight 体重
workout exercise exercising train_at_the_gym 锻炼 健身
run running jog jogging 跑步
vegan plant_based 纯素
vegetarian 素食 吃素
gluten_free without_gluten 无麸质
eat 吃
drink 喝
cook prepare cooking 做饭 烹饪 做菜
recipe 菜谱 食谱
meal dish 菜
dinner supper evening_meal 晚餐 晚饭
lunch midday_meal 午餐 午饭
breakfast 早餐 早饭
spicy 辣
sweet sugary 甜
job work_position employment 工作 职位 上班
boss manager supervisor 老板 上司 领导
coworker colleague co-worker workmate 同事
company firm employer 公司
fire dismiss lay_off terminate sack let_go 解雇 辞退 开除 裁员
resign resignation quit_my_job hand_in_my_notice 辞职 离职
contract agreement 合同 协议
lawyer attorney solicitor 律师
court 法院
sue take_to_court 起诉
salary wage pay_check paycheck pay_packet 工资 薪水
overtime extra_hours 加班
interview 面试
resume cv 简历
write draft compose 写 撰写
short brief concise 简短 简洁 短
long lengthy 长
beginner novice newbie 初学者 新手 入门 小白
learn study 学 学习
teach 教
school 学校
college university 大学
exam test 考试 测验
class lesson session 课
student pupil 学生
teacher tutor 老师
translate translation 翻译
book 书
essay 作文
article 文章
letter 信
dog 狗
cat 猫
vet veterinarian animal_doctor 兽医
plant 植物
water 浇水
grow growing 种植 生长
friend buddy mate pal 朋友
parent 父母 家长
mother mom mum 妈妈 母亲
father dad 爸爸 父亲
wedding 婚礼
married marry 结婚
divorce 离婚
hot 热
warm 温暖
cold chilly 冷
quiet silent 安静
easy simple effortless 容易 简单
hard difficult tough tricky 难 困难
important crucial vital essential 重要
recommend suggest advise recommendation suggestion advice 推荐 建议
best top 最好
safe harmless 安全
dangerous unsafe hazardous 危险
legal lawful allowed_by_law 合法
illegal unlawful against_the_law 违法
allow permit permitted allowed 允许
forbid prohibit ban forbidden prohibited banned 禁止
near close_to nearby 附近 靠近
visit stop_by drop_in come_in drop_by 拜访
clothes clothing apparel 衣服
beautiful pretty gorgeous 漂亮
answer 答案
kg kilo kilogram kilogramme 公斤 千克
cm centimeter centimetre 厘米
km kilometer kilometre 公里 千米
hr hour 小时
min minute 分钟
"""
